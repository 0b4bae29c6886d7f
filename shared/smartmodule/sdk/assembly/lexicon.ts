/** A small English sentiment lexicon, written for this project: word:weight from -4 (very negative) to 4 (very positive). */
export const LEXICON: string =
  'abandon:-2 abuse:-3 ache:-2 admire:3 adore:3 advantage:2 afraid:-2 aggressive:-2 agony:-3 agree:1 amazing:4 anger:-3 angry:-3 annoy:-2 annoyed:-2 annoying:-2 ' +
  'anxious:-2 appreciate:2 appreciated:2 arrogant:-2 ashamed:-2 attack:-2 attractive:2 awesome:4 awful:-3 bad:-3 beautiful:3 benefit:2 benefits:2 best:3 betray:-3 ' +
  'better:2 bitter:-2 blame:-2 bless:2 blessing:2 bored:-2 boring:-3 brave:2 breathtaking:4 bright:1 brilliant:4 broke:-2 broken:-2 brutal:-3 bug:-1 bugs:-1 burden:-2 calm:2 ' +
  'careful:1 careless:-2 celebrate:3 charming:3 cheap:-1 cheat:-3 cheated:-3 cheer:2 cheerful:2 clean:2 clever:2 clumsy:-2 comfort:2 comfortable:2 complain:-2 complaint:-2 ' +
  'confident:2 confused:-2 confusing:-2 congratulations:2 convenient:2 cool:1 corrupt:-3 courage:2 crap:-3 crash:-2 crashed:-2 crashes:-2 crazy:-1 crime:-3 crisis:-3 cruel:-3 cry:-1 damage:-3 ' +
  'damaged:-3 danger:-2 dangerous:-2 dead:-3 death:-2 debt:-2 deceive:-3 decent:1 defeat:-2 defect:-2 defective:-3 delay:-1 delayed:-1 delicious:3 delight:3 delighted:3 delightful:3 deny:-2 depressed:-3 ' +
  'depressing:-3 deserve:1 desperate:-3 despise:-3 destroy:-3 destroyed:-3 destruction:-3 difficult:-1 difficulty:-1 dirty:-2 disappoint:-2 disappointed:-3 disappointing:-3 disappointment:-3 disaster:-3 ' +
  'disease:-2 disgust:-3 disgusting:-3 dishonest:-2 dislike:-2 dispute:-2 distress:-2 dreadful:-3 dull:-2 dumb:-3 eager:2 ease:2 easily:1 easy:2 effective:2 efficient:2 elegant:2 embarrassed:-2 ' +
  'encourage:2 encouraging:2 enemy:-2 energetic:2 enjoy:2 enjoyable:3 enjoyed:2 enthusiastic:3 error:-1 errors:-1 evil:-3 excellent:4 exceptional:3 excited:3 exciting:3 expensive:-1 fabulous:4 fail:-2 ' +
  'failed:-2 fails:-2 failure:-3 fair:2 faith:1 faithful:2 fake:-3 false:-1 fantastic:4 fast:1 fatal:-3 fault:-2 faulty:-3 favor:2 favorite:2 favourite:2 fear:-2 fine:2 flaw:-2 flawed:-2 flawless:3 fool:-2 ' +
  'foolish:-2 fortunate:2 fraud:-4 free:1 freedom:2 fresh:1 friend:1 friendly:2 frustrated:-2 frustrating:-3 fun:3 funny:2 garbage:-3 generous:2 gentle:2 gift:2 glad:3 glorious:2 good:3 gorgeous:3 grace:1 ' +
  'grateful:3 great:3 greed:-3 grief:-2 guilty:-3 handy:2 happily:2 happiness:3 happy:3 harm:-2 harmful:-2 harmony:2 harsh:-2 hate:-3 hated:-3 hatred:-3 helpful:2 helpless:-2 hero:2 honest:2 honor:2 hope:2 hopeful:2 ' +
  'hopeless:-3 horrible:-3 horrific:-3 hostile:-2 humiliated:-3 hurt:-2 ideal:2 ignorant:-2 ignore:-1 ignored:-2 ill:-2 illegal:-3 impossible:-1 impress:3 impressed:3 impressive:3 improve:2 improved:2 improvement:2 ' +
  'incompetent:-2 inconvenient:-2 incredible:3 inferior:-2 injury:-2 injustice:-2 innovative:2 inspire:2 inspired:2 inspiring:3 insult:-2 insulting:-3 intelligent:2 interesting:2 irritating:-3 jealous:-2 joke:1 joy:3 ' +
  'joyful:3 justice:2 kill:-3 killed:-3 kind:2 lack:-2 lacks:-2 lame:-2 laugh:1 lazy:-1 liar:-3 liberty:2 lie:-2 lies:-2 like:1 liked:2 lonely:-2 lose:-2 loser:-3 loss:-2 lost:-2 love:3 loved:3 lovely:3 loves:3 loyal:3 ' +
  'lucky:3 mad:-2 magnificent:3 marvelous:3 masterpiece:4 mediocre:-2 mess:-2 miserable:-3 misery:-2 misleading:-3 miss:-1 missing:-1 mistake:-2 mistakes:-2 moron:-3 murder:-3 nasty:-3 neat:2 neglect:-2 nervous:-2 nice:3 ' +
  'nightmare:-3 noble:2 noisy:-1 nonsense:-2 offend:-2 offensive:-2 outdated:-2 outrage:-3 outstanding:4 overpriced:-2 pain:-2 painful:-2 panic:-3 passion:1 pathetic:-2 peace:2 peaceful:2 penalty:-2 perfect:3 perfectly:3 ' +
  'pity:-2 pleasant:3 please:1 pleased:3 pleasure:3 poison:-2 polite:2 poor:-2 poorly:-2 popular:2 positive:2 praise:3 precious:2 pretty:1 prison:-2 problem:-2 problems:-2 progress:2 promise:1 prosper:2 prosperity:3 ' +
  'prosperous:3 protect:1 proud:2 punish:-2 quality:1 quick:1 refund:-1 refuse:-2 regret:-2 reject:-1 rejected:-1 relaxed:2 reliable:2 relief:1 remarkable:2 resolve:2 respect:2 responsible:2 revenge:-2 reward:2 rich:2 ' +
  'ridiculous:-3 robust:2 rotten:-3 rude:-2 ruin:-2 ruined:-2 sad:-2 sadly:-2 sadness:-2 safe:1 satisfied:2 satisfying:2 scam:-3 scandal:-3 scared:-2 scary:-2 secure:2 selfish:-3 severe:-2 shame:-2 shameful:-2 shock:-2 ' +
  'shocked:-2 shocking:-2 shortage:-2 sick:-2 skilled:2 slow:-1 slowly:-1 smart:2 smile:2 smooth:2 solid:2 solve:1 solved:1 sorrow:-2 sorry:-1 spam:-2 spectacular:3 splendid:3 steal:-2 stole:-2 stolen:-2 strength:2 ' +
  'stress:-1 strong:2 struggle:-2 stunning:4 stupid:-3 succeed:3 success:2 successful:3 suck:-3 sucks:-3 suffer:-2 suffering:-2 superb:4 superior:2 support:1 supportive:2 suspicious:-2 sweet:2 sympathy:2 talented:2 ' +
  'tasty:2 tears:-2 tedious:-2 terrible:-3 terribly:-3 terrific:4 terrified:-3 terror:-3 thank:2 thankful:2 thanks:2 threat:-2 threaten:-2 thrilled:4 tired:-2 torture:-4 toxic:-3 tragedy:-2 tragic:-2 trouble:-2 ' +
  'troubled:-2 trust:1 trusted:2 ugly:-3 unacceptable:-2 uncomfortable:-2 unfair:-2 unfortunate:-2 unfortunately:-2 unhappy:-2 unjust:-2 unpleasant:-2 unreliable:-2 unsafe:-2 unstable:-2 unusable:-3 upset:-2 useful:2 ' +
  'useless:-2 valuable:2 vicious:-2 victim:-3 victory:3 violence:-3 violent:-3 vulnerable:-2 war:-2 warm:1 warmth:2 waste:-2 wasted:-2 weak:-2 weakness:-2 wealth:3 welcome:2 well:1 win:3 winner:3 wins:3 wise:2 won:3 ' +
  'wonderful:4 worried:-3 worry:-3 worse:-3 worst:-4 worth:2 worthless:-3 worthy:2 wow:4 wrong:-2 yay:3 yes:1'
export const NEGATIONS: string = 'not no never none nobody nothing neither nor cannot cant dont doesnt didnt wont wouldnt shouldnt couldnt isnt arent wasnt werent hasnt havent hadnt aint without hardly barely'
export const INTENSIFIERS: string = 'very really extremely so too absolutely totally completely incredibly highly deeply truly remarkably especially'
